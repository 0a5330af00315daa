import{a}from"/assets/chunk-EQ3QUAAF.js";import"/assets/chunk-27UJ7QSL.js";import"/assets/chunk-JRAVTUET.js";export{a as ApprovalDialog};
