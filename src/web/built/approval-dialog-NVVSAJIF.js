import{a}from"/assets/chunk-KX2GH4HE.js";import"/assets/chunk-C4XTO4PA.js";import"/assets/chunk-JRAVTUET.js";export{a as ApprovalDialog};
