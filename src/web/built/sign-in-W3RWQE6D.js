import{a,b,c}from"/assets/chunk-4ECJCT7B.js";import"/assets/chunk-CEWJ6PYI.js";import"/assets/chunk-LH6KJHH5.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
