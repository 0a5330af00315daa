import{a,b,c}from"/assets/chunk-3M63AFPJ.js";import"/assets/chunk-5VNFKML7.js";import"/assets/chunk-3YAME6XE.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
