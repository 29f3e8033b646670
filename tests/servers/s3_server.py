"""An S3 server of this process (moto), for tests with the marker `s3`."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import boto3
from botocore.config import Config
from moto.server import ThreadedMotoServer

_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class S3Server:
    endpoint: str

    def client(self):
        """A client that is not the one under test."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(s3={"addressing_style": "path"}),
        )

    def new_bucket(self) -> str:
        bucket = f"bucket-{next(_numbers)}"
        self.client().create_bucket(Bucket=bucket)
        return bucket

    def empty(self, bucket: str) -> None:
        """Deletes every object of a bucket."""
        client = self.client()
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            for found in page.get("Contents", []):
                client.delete_object(Bucket=bucket, Key=found["Key"])

    def options(self, endpoint: str | None = None) -> dict[str, str]:
        """Store options for this server, or for something in front of it."""
        return {
            "s3.endpoint": endpoint or self.endpoint,
            "s3.region": "us-east-1",
            "s3.access-key-id": "test",
            "s3.secret-access-key": "test",
        }


@contextmanager
def running_s3_server() -> Iterator[S3Server]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield S3Server(f"http://{host}:{port}")
    finally:
        server.stop()
