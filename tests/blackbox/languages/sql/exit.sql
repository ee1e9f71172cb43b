SELECT 'leaving';
.exit 7
