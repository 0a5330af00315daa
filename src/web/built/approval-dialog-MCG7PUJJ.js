import{a}from"/assets/chunk-NDSGTZRT.js";import"/assets/chunk-QDE3IKMC.js";import"/assets/chunk-FUXW4EFG.js";export{a as ApprovalDialog};
