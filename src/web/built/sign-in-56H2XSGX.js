import{a,b,c}from"/assets/chunk-C3LXFOSG.js";import"/assets/chunk-RTDD72TP.js";import"/assets/chunk-NLBKV4FL.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
