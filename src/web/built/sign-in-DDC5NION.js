import{a,b,c}from"/assets/chunk-5JWNL63N.js";import"/assets/chunk-LFSLRN3R.js";import"/assets/chunk-IN55EAJZ.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
