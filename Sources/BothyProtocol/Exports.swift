// Messages are made of records, queries and schemas.
@_exported public import BothyStore
