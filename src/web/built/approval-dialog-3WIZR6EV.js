import{a}from"/assets/chunk-K4WD4MBO.js";import"/assets/chunk-JKHEMTIR.js";import"/assets/chunk-XMULLKRB.js";export{a as ApprovalDialog};
