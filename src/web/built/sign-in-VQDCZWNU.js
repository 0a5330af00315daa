import{a,b,c}from"/assets/chunk-TE4LFQLP.js";import"/assets/chunk-UPYK4645.js";import"/assets/chunk-JRAVTUET.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
