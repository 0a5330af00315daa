import{a}from"/assets/chunk-EPWU5HAV.js";import"/assets/chunk-QC4OTKJ3.js";import"/assets/chunk-CTPTBO5K.js";export{a as ApprovalDialog};
