import{a,b,c}from"/assets/chunk-4PVBZEFU.js";import"/assets/chunk-2EVO6C3U.js";import"/assets/chunk-CMPT6XTS.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
