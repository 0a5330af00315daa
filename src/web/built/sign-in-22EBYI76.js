import{a,b,c}from"/assets/chunk-XGRKNKHU.js";import"/assets/chunk-3WD3VLX6.js";import"/assets/chunk-BRQS4RQQ.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
