"""The protobuf messages of remote write and OTLP, built from their field numbers at run time: what judges the bytes we write.

Field numbers: prompb/remote.proto and types.proto of Prometheus; metrics/v1, common/v1, resource/v1 and the metrics service of
opentelemetry-proto.
"""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

TEXT, DOUBLE, INT64, FIXED64, SFIXED64, BOOL, ENUM = 9, 1, 3, 6, 16, 8, 5  # types of FieldDescriptorProto (ENUM read as int32)

MESSAGES = {
    # name: [(field, number, type or message, repeated)]
    "WriteRequest": [("timeseries", 1, "TimeSeries", True)],
    "TimeSeries": [("labels", 1, "Label", True), ("samples", 2, "Sample", True)],
    "Label": [("name", 1, TEXT, False), ("value", 2, TEXT, False)],
    "Sample": [("value", 1, DOUBLE, False), ("timestamp", 2, INT64, False)],
    "ExportMetricsServiceRequest": [("resource_metrics", 1, "ResourceMetrics", True)],
    "ResourceMetrics": [("resource", 1, "Resource", False), ("scope_metrics", 2, "ScopeMetrics", True)],
    "Resource": [("attributes", 1, "KeyValue", True)],
    "KeyValue": [("key", 1, TEXT, False), ("value", 2, "AnyValue", False)],
    "AnyValue": [("string_value", 1, TEXT, False)],
    "ScopeMetrics": [("scope", 1, "InstrumentationScope", False), ("metrics", 2, "Metric", True)],
    "InstrumentationScope": [("name", 1, TEXT, False), ("version", 2, TEXT, False)],
    "Metric": [("name", 1, TEXT, False), ("description", 2, TEXT, False), ("unit", 3, TEXT, False), ("gauge", 5, "Gauge", False),
               ("sum", 7, "Sum", False)],
    "Gauge": [("data_points", 1, "NumberDataPoint", True)],
    "Sum": [("data_points", 1, "NumberDataPoint", True), ("aggregation_temporality", 2, ENUM, False), ("is_monotonic", 3, BOOL, False)],
    "NumberDataPoint": [("start_time_unix_nano", 2, FIXED64, False), ("time_unix_nano", 3, FIXED64, False), ("as_double", 4, DOUBLE, False),
                        ("as_int", 6, SFIXED64, False), ("attributes", 7, "KeyValue", True)],
}


def _classes():
    file = descriptor_pb2.FileDescriptorProto(name="wire.proto", package="wire", syntax="proto2")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            row = message.field.add(name=field, number=number, label=3 if repeated else 1)
            if isinstance(kind, str):
                row.type, row.type_name = 11, f".wire.{kind}"
            else:
                row.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName(f"wire.{name}")) for name in MESSAGES}


CLASSES = _classes()


def decode(name, data):
    """The message, whole: bytes that the schema does not know are an error."""
    message = CLASSES[name]()
    assert message.ParseFromString(data) == len(data)
    assert not list(_unknown(message)), f"unknown fields in {name}"
    return message


def _unknown(message):
    yield from message.UnknownFields()
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for one in value if field.label == field.LABEL_REPEATED else [value]:
                yield from _unknown(one)
