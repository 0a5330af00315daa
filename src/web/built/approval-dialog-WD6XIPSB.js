import{a}from"/assets/chunk-5GS3L2N2.js";import"/assets/chunk-B52EWYMM.js";import"/assets/chunk-CMPT6XTS.js";export{a as ApprovalDialog};
