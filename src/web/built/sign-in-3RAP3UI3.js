import{a,b,c}from"/assets/chunk-JAANM5SE.js";import"/assets/chunk-KLXAG7WW.js";import"/assets/chunk-XA4E3EUK.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
