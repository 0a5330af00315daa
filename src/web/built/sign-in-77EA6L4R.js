import{a,b,c}from"/assets/chunk-TNDQDFTV.js";import"/assets/chunk-T6NJUEV5.js";import"/assets/chunk-LNGN6FME.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
