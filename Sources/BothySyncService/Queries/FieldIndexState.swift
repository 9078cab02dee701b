/// The indexes of a space's fields, in the form in which a storage keeps them.
public struct FieldIndexState: Sendable, Hashable {
  /// The numbers and names of the indexes, as text; `nil` for a space without indexes.
  ///
  /// Storages keep it as it is. A server leaves a text of a newer version alone.
  public var text: String?
  /// The position of the space's changes up to which the finished indexes have all entries.
  public var position: Int64

  /// Makes a state, for storages.
  public init(text: String? = nil, position: Int64 = 0) {
    self.text = text
    self.position = position
  }

  /// The indexes, or `nil` for a text that a newer server wrote.
  var catalog: FieldIndexCatalog? { FieldIndexCatalog.known(text) }
}
