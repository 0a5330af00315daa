import{a}from"/assets/chunk-BMVO7PMO.js";import"/assets/chunk-5BVNF2XM.js";import"/assets/chunk-3YAME6XE.js";export{a as ApprovalDialog};
