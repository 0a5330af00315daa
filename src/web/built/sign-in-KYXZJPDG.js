import{a,b,c}from"/assets/chunk-PEF5TMHD.js";import"/assets/chunk-ZFTXAGAP.js";import"/assets/chunk-QT3E6IDR.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
