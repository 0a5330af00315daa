import{a}from"/assets/chunk-WFPK3GY5.js";import"/assets/chunk-EWSKGDNN.js";import"/assets/chunk-S7HXOMVX.js";export{a as ApprovalDialog};
