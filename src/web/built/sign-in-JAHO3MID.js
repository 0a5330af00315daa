import{a,b,c}from"/assets/chunk-CBLGCTSL.js";import"/assets/chunk-Z2FXXBL7.js";import"/assets/chunk-P7JS3UBV.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
