import{a,b,c}from"/assets/chunk-YBUBVFID.js";import"/assets/chunk-6YVOEIEO.js";import"/assets/chunk-N7KEYTVL.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
