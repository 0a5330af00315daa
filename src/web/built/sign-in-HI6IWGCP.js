import{a,b,c}from"/assets/chunk-SCZ62DR2.js";import"/assets/chunk-Z3PA7FM4.js";import"/assets/chunk-AG6QAK4M.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
