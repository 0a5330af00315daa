import{a,b,c}from"/assets/chunk-DXGVFFJB.js";import"/assets/chunk-25GGE6XD.js";import"/assets/chunk-KHPADQKH.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
