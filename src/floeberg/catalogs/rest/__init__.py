"""A REST catalog as its client: https://github.com/apache/iceberg/blob/main/open-api/rest-catalog-open-api.yaml"""
