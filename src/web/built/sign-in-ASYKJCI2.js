import{a,b,c}from"/assets/chunk-6R3NVPOW.js";import"/assets/chunk-3U4KQXH7.js";import"/assets/chunk-6DHFCZQR.js";export{c as FirstPasskeyPage,a as SignInPage,b as deviceName};
