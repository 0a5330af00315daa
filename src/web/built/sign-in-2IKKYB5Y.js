import{a,b,c}from"/assets/chunk-3S4LVVAK.js";import"/assets/chunk-MLMATM2D.js";import"/assets/chunk-XPEEAWRZ.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
