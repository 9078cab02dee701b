import BothyStore

/// A text as a key, compared byte by byte like in storages. Swift's own `==` treats canonically equivalent texts as
/// equal.
struct ExactText: Hashable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: ExactText, right: ExactText) -> Bool { left.text.hasSameBytes(as: right.text) }

  func hash(into hasher: inout Hasher) { Self.hash(text, into: &hasher) }

  /// Hashes the bytes of a text.
  static func hash(_ text: String, into hasher: inout Hasher) {
    let hashed: Void? = text.utf8.withContiguousStorageIfAvailable { bytes in
      hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
    }
    if hashed == nil { Array(text.utf8).withUnsafeBytes { hasher.combine(bytes: $0) } }
  }
}
