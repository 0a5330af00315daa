import{a}from"/assets/chunk-I6FA5M6U.js";import"/assets/chunk-L2Y7JZSM.js";import"/assets/chunk-XA4E3EUK.js";export{a as RecoveryNote};
