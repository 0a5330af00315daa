import{a,b,c}from"/assets/chunk-QJNKHFDY.js";import"/assets/chunk-4RTQTGFI.js";import"/assets/chunk-S7HXOMVX.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
