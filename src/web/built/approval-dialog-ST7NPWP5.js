import{a}from"/assets/chunk-GNAVYDCE.js";import"/assets/chunk-MED7Q4TL.js";import"/assets/chunk-5RK7QZRC.js";import"/assets/chunk-KTITKUD3.js";export{a as ApprovalDialog};
