import{a}from"/assets/chunk-4Y6FZLTS.js";import"/assets/chunk-RRGW2PCY.js";import"/assets/chunk-7ARIMYBO.js";export{a as ApprovalDialog};
