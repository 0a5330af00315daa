import{a,b,c}from"/assets/chunk-KVYMINGO.js";import"/assets/chunk-N2Q52F6N.js";import"/assets/chunk-TAS4QGM7.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
