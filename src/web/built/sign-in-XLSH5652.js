import{a,b,c}from"/assets/chunk-5ARPFIYZ.js";import"/assets/chunk-COQ37XJV.js";import"/assets/chunk-KTITKUD3.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
