import{a}from"/assets/chunk-3JYJJEWQ.js";import"/assets/chunk-L2Y7JZSM.js";import"/assets/chunk-XA4E3EUK.js";export{a as RecoveryNote};
