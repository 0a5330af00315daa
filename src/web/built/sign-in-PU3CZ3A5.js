import{a,b,c}from"/assets/chunk-V7AUROR5.js";import"/assets/chunk-BSJ75COJ.js";import"/assets/chunk-ZZO5RSGM.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
