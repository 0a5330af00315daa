import{a}from"/assets/chunk-PY2HDXAZ.js";import"/assets/chunk-FATDK3WK.js";import"/assets/chunk-MLSFAK43.js";import"/assets/chunk-LH6KJHH5.js";export{a as ApprovalDialog};
