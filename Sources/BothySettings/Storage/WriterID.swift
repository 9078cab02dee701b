import BothyStore

/// Names this process in the rows that it writes, so that it knows its own changes again.
enum WriterID {
  static let ofThisProcess = UUIDv7.make()
}
