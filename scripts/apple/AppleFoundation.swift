// Members of Foundation and Dispatch that only Apple's platforms have. Imported into every file that is checked.
@_exported public import Darwin
@_exported public import Dispatch
@_exported public import Foundation
@_exported public import FoundationNetworking

extension ProcessInfo {
  public var isLowPowerModeEnabled: Bool { false }
}

extension Notification.Name {
  public static let NSProcessInfoPowerStateDidChange = Notification.Name("NSProcessInfoPowerStateDidChange")
}

extension URL {
  public static var applicationSupportDirectory: URL { URL(fileURLWithPath: "/") }
}

extension FileManager {
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { nil }
}

public protocol DispatchSourceFileSystemObject: DispatchSourceProtocol {
  var data: DispatchSource.FileSystemEvent { get }
}

public protocol DispatchSourceMemoryPressure: DispatchSourceProtocol {
  var data: DispatchSource.MemoryPressureEvent { get }
}

extension DispatchSource {
  public struct MemoryPressureEvent: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let normal = MemoryPressureEvent(rawValue: 1)
    public static let warning = MemoryPressureEvent(rawValue: 2)
    public static let critical = MemoryPressureEvent(rawValue: 4)
  }

  public class func makeFileSystemObjectSource(
    fileDescriptor: Int32, eventMask: FileSystemEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceFileSystemObject { preconditionFailure("This is for the type checker.") }

  public class func makeMemoryPressureSource(
    eventMask: MemoryPressureEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceMemoryPressure { preconditionFailure("This is for the type checker.") }
}
