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
