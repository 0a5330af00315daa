import{a}from"/assets/chunk-QN2YXSKU.js";import"/assets/chunk-T65EYAGP.js";import"/assets/chunk-LZ6A4NY5.js";import"/assets/chunk-AG6QAK4M.js";export{a as ApprovalDialog};
