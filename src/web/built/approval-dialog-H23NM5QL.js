import{a}from"/assets/chunk-WZHXFLRC.js";import"/assets/chunk-D43XBY2R.js";import"/assets/chunk-P7JS3UBV.js";export{a as ApprovalDialog};
