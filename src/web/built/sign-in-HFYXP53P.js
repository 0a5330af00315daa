import{a,b,c}from"/assets/chunk-ZZU3NMK3.js";import"/assets/chunk-W6JKAICS.js";import"/assets/chunk-KSLTGDSC.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
