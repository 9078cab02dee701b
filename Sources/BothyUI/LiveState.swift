public import BothyStore
package import BothySync

/// The state of a `@Live` property, as its projected value: `$todos.isLoading`, `$todos.error`.
///
/// ```swift
/// func search(_ words: String, in todos: LiveState<[Todo]>) async throws {
///   try await todos.load(words.isEmpty ? Todo.all : Todo.all.matching(words))
/// }
/// ```
@MainActor
public struct LiveState<Value: Sendable> {
  private let model: LiveModel<Value>
  private let store: SyncedStore?

  package init(_ model: LiveModel<Value>, in store: SyncedStore?) {
    (self.model, self.store) = (model, store)
  }

  /// True while the first value of the present request is being read.
  public var isLoading: Bool { model.isLoading }
  /// The error that ended the observation, or `nil`. The property has the last value then.
  public var error: (any Error)? { model.error }

  /// Replaces the request, for a search field or a filter. Returns when its first value is shown.
  ///
  /// The property has the earlier value until then. It shows the replaced request again when the view is given another
  /// one. If a later call has replaced the request meanwhile, this one shows nothing. Two reads.
  ///
  /// - Throws: `BothyError` `unknownField` or `invalidQuery` for a request that doesn't fit the schema. Throws another
  ///   error if the view has no store in its environment. A cancelled task throws `.cancelled`. The request is then
  ///   shown all the same, unless a later call has replaced it.
  public func load(_ request: some ReadRequest<Value>) async throws {
    guard let store else { throw MissingStore() }
    try await model.load(request, of: store)
  }
}

/// The error of a view that has no store in its environment.
package struct MissingStore: Error, CustomStringConvertible {
  package init() {}
  package var description: String {
    "This view has no store in its environment. Add .store(_:) to a view above it."
  }
}
