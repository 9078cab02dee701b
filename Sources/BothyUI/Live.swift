#if canImport(SwiftUI)
  public import BothyStore
  import BothySync
  public import SwiftUI

  /// The values of a request for a view, read from the store of the environment.
  ///
  /// ```swift
  /// struct TodosView: View {
  ///   @Live(Todo.where { !$0.done }.order(by: \.title)) private var todos
  ///   @Live(Todo.all.count()) private var count = 0
  ///
  ///   var body: some View { List(todos) { Text($0.title) } }
  /// }
  /// ```
  ///
  /// The view is updated after each commit that changes the value, also by syncs and other processes. One read at once, and
  /// one after each commit that touches the request's types; reads run outside the main thread. A view that is created with
  /// another request shows that one.
  @MainActor @propertyWrapper
  public struct Live<Value: Sendable>: DynamicProperty {
    @Environment(\.bothyStore) private var store
    @State private var model = LiveModel<Value>()
    private let request: any ReadRequest<Value>
    private let initial: Value

    /// Shows records with a value until the first read.
    ///
    /// - Parameter wrappedValue: The value until the first read: `@Live(Todo.all.count()) var count = 0`.
    public init(wrappedValue: Value, _ request: some ReadRequest<Value>) {
      (self.request, initial) = (request, wrappedValue)
    }

    /// Shows the records of a query; an empty array until the first read.
    ///
    /// The array has all of them in memory, so give a long list a limit.
    public init<E: Entity>(_ query: RecordQuery<E>) where Value == [E] {
      self.init(wrappedValue: [], query)
    }

    /// Shows every record of a type, ordered by id; an empty array until the first read. Meant for types with few
    /// records.
    public init<E: Entity>(_ type: E.Type) where Value == [E] {
      self.init(wrappedValue: [], RecordQuery<E>())
    }

    /// Shows records with related ones, or some of their fields; an empty array until the first read.
    public init<Row>(_ query: JoinQuery<Row>) where Value == [Row] {
      self.init(wrappedValue: [], query)
    }

    /// Shows the first record of a query; `nil` until the first read, and while no record matches.
    public init<E: Entity>(_ query: FirstQuery<E>) where Value == E? {
      self.init(wrappedValue: nil, query)
    }

    /// The value as the view shows it. After an error, it is the last value that was read.
    public var wrappedValue: Value { model.value ?? initial }

    /// The state of the read: `$todos.isLoading`, `$todos.error`, `$todos.load(…)`.
    public var projectedValue: LiveState<Value> { LiveState(model, in: store) }

    /// Begins the observation, or continues it. SwiftUI calls it before it reads the view's body.
    public nonisolated func update() {
      MainActor.assumeIsolated {
        if let store { model.show(request, of: store) } else { model.fail(MissingStore()) }
      }
    }
  }
#endif
