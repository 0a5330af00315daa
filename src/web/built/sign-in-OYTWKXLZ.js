import{a,b,c}from"/assets/chunk-D7N45AOG.js";import"/assets/chunk-ZEEDOU3O.js";import"/assets/chunk-FUXW4EFG.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
