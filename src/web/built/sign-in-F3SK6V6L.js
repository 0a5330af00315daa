import{a,b,c}from"/assets/chunk-4FPAF6CC.js";import"/assets/chunk-N7FE33OJ.js";import"/assets/chunk-KOM5BBLZ.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
