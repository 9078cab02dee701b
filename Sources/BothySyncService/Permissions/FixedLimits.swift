/// The limits that no option changes, because devices and stored records rely on them. Names are measured in bytes of
/// UTF-8.
package enum FixedLimits {
  /// The most bytes of the name of a space.
  package static let spaceName = 128
  /// The most bytes of the id of a device, and of an operation.
  package static let deviceName = 128
  package static let operationName = 128
  /// The most bytes of the name of a type, of the id of a record, and of the path of a container.
  package static let typeName = 64
  package static let recordID = 512
  package static let containerPath = 512
  /// The most users and lists in the audience of one record.
  package static let audience = 1000
  /// The most secrets of one record, and of one request. Each becomes a file.
  package static let secretsOfRecord = 64
  package static let secretsOfRequest = 500
  /// The most times that a rule for writes is consulted in one request.
  package static let decisionRounds = 4
  /// The most bytes of the names of fields that are remembered of one change. Without a schema a record may have any
  /// names, and a page of the history has a thousand changes.
  package static let historyNames = 16 << 10
  /// The most records that the operations of one request refer to. Each is read in the transaction.
  package static let references = 30_000
  /// The most bytes of a message, and the most fields, of a refusal by such a rule. Refusals are remembered.
  package static let refusalMessage = 2000
  package static let refusalFields = 20
  /// The most conditions and sort keys of one query. Each may need as much memory as the largest record.
  package static let conditions = 100
  package static let sortKeys = 8
  /// The most bytes of a text that `contains` or `matches` looks for. The time of a search is at most their product
  /// with the bytes of a record, and the search in one value can't be interrupted.
  package static let containedText = 1024
  /// The most positions that are noted of the devices of one user in a space. Devices make up their ids.
  package static let devicePositions = 10_000
  /// The most wanted blobs of a space after requests of readers, as these may name blobs that never existed.
  package static let wantedBlobs = 1000
  /// The most blobs that one answer requests.
  package static let wantedBlobsReported = 500
}
