import{a}from"/assets/chunk-QTJNLJFL.js";import"/assets/chunk-2VDZSQB4.js";import"/assets/chunk-QT3E6IDR.js";export{a as ApprovalDialog};
