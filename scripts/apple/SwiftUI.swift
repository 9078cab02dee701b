// Stands for the module SwiftUI: the declarations that Bothy and its articles use.
@_exported public import Foundation
@_exported public import Observation

@propertyWrapper @dynamicMemberLookup
public struct Binding<Value> {
  @preconcurrency
  public init(
    get: @escaping @isolated(any) @Sendable () -> Value,
    set: @escaping @isolated(any) @Sendable (Value) -> Void
  ) {
    preconditionFailure("This is for the type checker.")
  }
  public var wrappedValue: Value {
    get { preconditionFailure("This is for the type checker.") }
    nonmutating set {}
  }
  public var projectedValue: Binding<Value> { self }
  public subscript<Subject>(dynamicMember path: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
    preconditionFailure("This is for the type checker.")
  }
}

public protocol DynamicProperty {
  mutating func update()
}

extension DynamicProperty {
  public mutating func update() {}
}

@propertyWrapper
public struct State<Value>: DynamicProperty {
  public init(wrappedValue value: Value) {}
  public init(initialValue value: Value) {}
  public var wrappedValue: Value {
    get { preconditionFailure("This is for the type checker.") }
    nonmutating set {}
  }
  public var projectedValue: Binding<Value> { preconditionFailure("This is for the type checker.") }
}

extension State: Sendable where Value: Sendable {}

@propertyWrapper
public struct Environment<Value>: DynamicProperty {
  public init(_ path: KeyPath<EnvironmentValues, Value>) {}
  public var wrappedValue: Value { preconditionFailure("This is for the type checker.") }
}

extension Environment: Sendable where Value: Sendable {}

public protocol EnvironmentKey {
  associatedtype Value
  static var defaultValue: Value { get }
}

public struct EnvironmentValues {
  public subscript<Key: EnvironmentKey>(key: Key.Type) -> Key.Value {
    get { Key.defaultValue }
    set {}
  }
  public var scenePhase: ScenePhase { .active }
}

public enum ScenePhase: Hashable, Sendable { case background, inactive, active }

@MainActor @preconcurrency
public protocol View {
  associatedtype Body: View
  @ViewBuilder var body: Body { get }
}

extension Never: View {
  public var body: Never { preconditionFailure("This is for the type checker.") }
}

public protocol Primitive: View where Body == Never {}
extension Primitive {
  public var body: Never { preconditionFailure("This is for the type checker.") }
}

@resultBuilder
public enum ViewBuilder {
  public static func buildBlock() -> EmptyView {
    preconditionFailure("This is for the type checker.")
  }
  public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
  public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<(repeat each Content)> {
    preconditionFailure("This is for the type checker.")
  }
  public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
  public static func buildEither<A: View, B: View>(first: A) -> Either<A, B> {
    preconditionFailure("This is for the type checker.")
  }
  public static func buildEither<A: View, B: View>(second: B) -> Either<A, B> {
    preconditionFailure("This is for the type checker.")
  }
}

extension Optional: View where Wrapped: View {
  public var body: Never { preconditionFailure("This is for the type checker.") }
}

public struct Either<A: View, B: View>: Primitive { init() {} }
public struct EmptyView: Primitive { public init() {} }
public struct TupleView<Content>: Primitive { init(_ content: Content) {} }
public struct Text: Primitive { public init(_ content: some StringProtocol) {} }
public struct Toggle: Primitive { public init(_ title: some StringProtocol, isOn: Binding<Bool>) {} }
public struct TextField: Primitive { public init(_ title: some StringProtocol, text: Binding<String>) {} }
public struct ProgressView: Primitive { public init() {} }
public struct Button: Primitive {
  public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) {}
}
public struct Section<Content: View>: Primitive {
  public init(_ title: some StringProtocol, @ViewBuilder content: () -> Content) {}
}
public struct List<Content: View>: Primitive {
  public init(@ViewBuilder content: () -> Content) {}
  public init<Data: RandomAccessCollection, Row: View>(
    _ data: Data, @ViewBuilder rowContent: @escaping (Data.Element) -> Row
  ) where Data.Element: Identifiable, Content == ForEach<Data, Row> {}
}
public struct ForEach<Data: RandomAccessCollection, Content: View>: Primitive where Data.Element: Identifiable {
  public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) {}
  public func onDelete(perform action: ((IndexSet) -> Void)?) -> some View { self }
}

@MainActor @preconcurrency
public protocol ViewModifier {
  associatedtype Body: View
  typealias Content = ModifierContent
  @ViewBuilder func body(content: Content) -> Body
}

public struct ModifierContent: Primitive { init() {} }
public struct Modified<Content: View>: Primitive { init() {} }
public enum VerticalEdge: Sendable { case top, bottom }
public struct Font: Sendable { public static let footnote = Font() }

extension View {
  public func environment<Value>(_ path: WritableKeyPath<EnvironmentValues, Value>, _ value: Value) -> some View { self }
  public func modifier<Modifier: ViewModifier>(_ modifier: Modifier) -> some View { self }
  public func task(@_inheritActorContext _ action: @escaping @Sendable () async -> Void) -> some View { self }
  public func task<ID: Equatable>(
    id: ID, @_inheritActorContext _ action: @escaping @Sendable () async -> Void
  ) -> some View { self }
  public func onChange<Value: Equatable>(
    of value: Value, initial: Bool = false, _ action: @escaping () -> Void
  ) -> some View { self }
  public func onSubmit(_ action: @escaping () -> Void) -> some View { self }
  public func font(_ font: Font?) -> some View { self }
  public func searchable(text: Binding<String>) -> some View { self }
  public func safeAreaInset<Inset: View>(edge: VerticalEdge, @ViewBuilder content: () -> Inset) -> some View { self }
}

@MainActor @preconcurrency
public protocol Scene {
  associatedtype Body: Scene
  @SceneBuilder var body: Body { get }
}

extension Never: Scene {}

public struct WindowGroup<Content: View>: Scene {
  public init(@ViewBuilder content: () -> Content) {}
  public var body: Never { preconditionFailure("This is for the type checker.") }
}

@resultBuilder
public enum SceneBuilder {
  public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

@MainActor @preconcurrency
public protocol App {
  associatedtype Body: Scene
  @SceneBuilder var body: Body { get }
  init()
}

extension App {
  public static func main() {}
}
