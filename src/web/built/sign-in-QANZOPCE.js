import{a,b,c}from"/assets/chunk-K5ICPIS7.js";import"/assets/chunk-HH43GHPU.js";import"/assets/chunk-CTPTBO5K.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
